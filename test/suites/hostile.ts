import '../api/sdk-hostile.test.ts'
