<?php

/** Signs an email address, so that nobody can send page views in this user's name. */
function identity_signature(string $email): string
{
    $secret = getenv('SERVICE_IDENTITY_SECRET') ?: '';

    return hash_hmac('sha256', strtolower(trim($email)), $secret);
}
