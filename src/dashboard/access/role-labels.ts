export const ROLE_NAMES = { owner: 'Owner', editor: 'Editor', viewer: 'Viewer' } as const

/** Completes "You are ...". */
export const ROLE_WORDS = { owner: 'an owner', editor: 'an editor', viewer: 'a viewer' } as const
