/** What all files of the console load: in one file it is smaller than in one for each two that need the same. */
import './app.tsx'
import './screens/person.tsx'
import './screens/uploads.tsx'
import './session.ts'
import './ui/act.tsx'
import './ui/code.tsx'
import './ui/pager.tsx'
import './ui/when.tsx'
