declare module '@zxcvbn-ts/language-common/src/passwords.json' {
  /** A JSON array, the most common first. */
  const text: string
  export default text
}
