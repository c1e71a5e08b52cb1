import { render } from 'preact'
import { App } from './app.tsx'
import { followLinks } from './router.ts'
import { startSession } from './session.ts'
import './shared.ts'
import './style.css'
import './charts/charts.css'
import './ui/parts.css'

followLinks()
void startSession()
const root = document.getElementById('app')
if (root) render(<App />, root)
