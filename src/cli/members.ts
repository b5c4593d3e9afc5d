import { UsageError } from '../config.ts'
import { readEmail } from '../core/email.ts'
import { inviteMember, isRole, resetPassword, ROLES } from '../accounts/members.ts'
import {
  ACCOUNT,
  BASE_URL,
  type Command,
  CommandRefused,
  DATA,
  type Environment,
  expectDone,
  findAccount,
  type Given,
  JSON_OUTPUT,
  type Options,
  readBaseUrl,
  required,
  withStore,
} from './command.ts'

const COMMON: Options = {
  ...DATA,
  ...JSON_OUTPUT,
  email: { type: 'string', value: 'EMAIL', meaning: "The member's email.", isRequired: true },
  ...BASE_URL,
}

function readMemberEmail(given: Given): string {
  const email = readEmail(required(given, 'email'))
  if (!email) throw new UsageError('--email takes one email address, such as ada@example.com.')
  return email.email
}

const linkOf = (given: Given, env: Environment, token: string): string =>
  `${readBaseUrl(given, env)}/password?token=${token}`

export const memberInvite: Command = {
  name: 'member invite',
  summary: 'invites a member and prints memberId and the link to join',
  options: {
    ...COMMON,
    ...ACCOUNT,
    role: {
      type: 'string',
      value: 'ROLE',
      meaning: `One of ${ROLES.join(', ')}.`,
      default: 'editor, or the role from an earlier invitation',
    },
  },
  run: async (given, env) => {
    const email = readMemberEmail(given)
    const role = given.text('role')
    if (role !== undefined && !isRole(role)) throw new UsageError(`--role takes one of ${ROLES.join(', ')}.`)
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const accountId = await findAccount(store, given)
      const maker = { store, now: Date.now(), actor: 'cli' }
      const { memberId, inviteToken } = expectDone(await inviteMember(maker, accountId, { email, role }))
      return { memberId, signInUrl: linkOf(given, env, inviteToken) }
    })
  },
}

export const memberResetPassword: Command = {
  name: 'member reset-password',
  summary: "prints a link to set a new password; the new password ends all of the member's sessions",
  options: {
    ...COMMON,
    'two-step-off': {
      type: 'boolean',
      meaning: 'The link also turns off two-step sign-in. Use this if the phone and the recovery codes are lost.',
    },
  },
  run: async (given, env) => {
    const email = readMemberEmail(given)
    const endsTwoStep = given.isSet('two-step-off')
    return withStore(given, env, { mayCreate: false }, async (store) => {
      const reset = { email, accountId: null, endsTwoStep }
      const outcome = await resetPassword({ store, now: Date.now(), actor: 'cli' }, reset)
      if ('refusal' in outcome && outcome.refusal === 'not_found') {
        throw new CommandRefused('There is no member with this email.')
      }
      return { signInUrl: linkOf(given, env, expectDone(outcome).passwordToken) }
    })
  },
}
