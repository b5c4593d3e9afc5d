import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { readReceivedMail } from '../../src/accounts/received-mail.ts'
import { growthTo, MOST_GROWTH } from '../waiting.ts'

const SOURCE = `Delivered-To: ada@gmail.example
Return-Path: <bounces+12-abc@em12.mail.example.com>
Authentication-Results: mx.gmail.example;
       dkim=pass header.i=@example.com header.s=s1;
       spf=pass smtp.mailfrom="bounces+12-abc@em12.mail.example.com"
DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=Example.com;
        h=from:subject:list-unsubscribe:
        list-unsubscribe-post; s=S1; bh=abc=;
        b=abc/def=
DKIM-Signature: v=1; a=rsa-sha256; d=sendgrid.info; s=smtpapi; h=From:Subject; b=x
From: =?utf-8?Q?Demo_=3Cx=3E?= <hello@mail.example.com>
Subject: Your results are ready.
List-Unsubscribe: <https://post.example.com/u/1>
List-Unsubscribe-Post: List-Unsubscribe=One-Click

From: <other@body.example>
`

test('the headers say who signed, where it bounces, and what is signed', () => {
  const expected = {
    domain: 'mail.example.com',
    signatures: [
      { domain: 'example.com', selector: 's1', coversOneClick: true },
      { domain: 'sendgrid.info', selector: 'smtpapi', coversOneClick: false },
    ],
    bounceDomain: 'em12.mail.example.com',
    hasOneClick: true,
  }
  expect(readReceivedMail(SOURCE)).toEqual(expected)
  expect(readReceivedMail(`\r\n${SOURCE.replaceAll('\n', '\r\n')}`)).toEqual(expected)
  expect(readReceivedMail(SOURCE.replace(/^Return-Path.*\n/m, ''))).toEqual(expected)
})

test('what is missing is unknown', () => {
  expect(readReceivedMail('From: hello@example.com')).toEqual({
    domain: 'example.com',
    signatures: [],
    bounceDomain: null,
    hasOneClick: false,
  })
  for (const source of ['', 'Subject: x', 'From: nobody', 'Hello,\n\nFrom: hello@example.com'])
    expect(readReceivedMail(source)).toBeNull()
})

test('any text is read in linear time', () => {
  fc.assert(fc.property(fc.string({ maxLength: 2_000 }), (text) => void readReceivedMail(`From: a@b.example\n${text}`)))
  for (const long of ['=;', 'a: b\n', ' \n', '<'.repeat(2), 'smtp.mailfrom=']) {
    const read = (count: number) => readReceivedMail(`From: a@b.example\nAuthentication-Results: ${long.repeat(count)}`)
    expect(growthTo(100_000, read)).toBeLessThan(MOST_GROWTH)
  }
})
