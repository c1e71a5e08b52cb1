import '../api/auth.test.ts'
import '../api/developers.test.ts'
import '../api/invitations.test.ts'
import '../api/login-limits.test.ts'
