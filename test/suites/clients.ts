import '../api/clients.test.ts'
import '../layout.test.ts'
