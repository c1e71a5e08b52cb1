import '../api/clients.test.ts'
import '../docs.test.ts'
import '../layout.test.ts'
