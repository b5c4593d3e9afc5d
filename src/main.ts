#!/usr/bin/env bun
// first, because it starts a thread
import './store/engine/begin-writer.ts'
import { runCommand } from './cli/run-command.ts'

// files are readable by their user only
process.umask(0o077)
process.exitCode = await runCommand(process.argv.slice(2), process.env)
