<?php

/** Proves to Eventpost that a page speaks for this user. */
function identity_signature(string $email): string
{
    $secret = getenv('SERVICE_IDENTITY_SECRET') ?: '';

    return hash_hmac('sha256', strtolower(trim($email)), $secret);
}
