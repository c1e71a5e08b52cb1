import '../oauth/callback.test.ts'
import '../oauth/disconnect.test.ts'
import '../oauth/refresh.test.ts'
import '../intake/pulls/storm.test.ts'
