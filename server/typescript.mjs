// Preloaded where Node cannot run TypeScript by itself, as it can from 22.18 on: `node --import ./server/typescript.mjs`.
import { register } from 'node:module'

if (!process.features.typescript) register('./typescript-hooks.mjs', import.meta.url)
