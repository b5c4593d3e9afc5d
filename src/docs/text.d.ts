declare module '*.md' {
  const text: string
  export default text
}

/** package.json maps it under Bun's condition alone, so that TypeScript takes a sample for text and never for code. */
declare module '#samples/*' {
  const text: string
  export default text
}
