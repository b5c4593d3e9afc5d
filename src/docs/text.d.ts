declare module '*.md' {
  const text: string
  export default text
}

/** Mapped under Bun's condition only, so that TypeScript reads samples as text. */
declare module '#samples/*' {
  const text: string
  export default text
}
