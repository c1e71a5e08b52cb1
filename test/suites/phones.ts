import '../api/connections.test.ts'
import '../api/phones.test.ts'
import '../api/priorities.test.ts'
import '../api/users.test.ts'
