import '../console/access.test.ts'
import '../console/browser.test.ts'
import '../console/connections.test.ts'
import '../console/first.test.ts'
