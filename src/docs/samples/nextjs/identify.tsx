'use client'
import { useEffect } from 'react'

type User = { email: string; signature: string }

/**
 * In the layout of signed-in pages:
 * <Identify email={user.email} signature={identitySignature(user.email)} />
 */
export function Identify({ email, signature }: User) {
  useEffect(() => {
    const page = window as { service?: (call: 'identify', user: User) => void }
    page.service?.('identify', { email, signature })
  }, [email, signature])
  return null
}
