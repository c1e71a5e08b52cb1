import { render } from 'preact'
import { App } from './app.tsx'
import { followLinks } from './router.ts'
import { startSession } from './session.ts'
import './style.css'

followLinks()
void startSession()
const root = document.getElementById('app')
if (root) render(<App />, root)
