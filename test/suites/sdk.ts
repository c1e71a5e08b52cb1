import '../api/phone-sdks.test.ts'
import '../api/sdk.test.ts'
import '../api/sdk-logs.test.ts'
import '../api/sdk-status.test.ts'
