/** What the code is filled in with. Secrets never are: it reads them from the server's environment. */
export type IntegrationValues = {
  /** where Eventpost is reached, without a slash at its end; nothing in it ends a quoted text of any language */
  baseUrl: string
  appId: string
  /** the customer's own site, for the example's link */
  home: string
}

export type IntegrationBlock = {
  /** the file it belongs into, or what it does where it is no file */
  label: string
  code: string
}

/** One language: its id as MCP and the pages name it, its name, and what to paste. */
export type Integration = { id: string; name: string; blocks: IntegrationBlock[] }
