import '../oauth/callback.test.ts'
import '../oauth/disconnect.test.ts'
import '../oauth/enrol.test.ts'
import '../oauth/refresh.test.ts'
