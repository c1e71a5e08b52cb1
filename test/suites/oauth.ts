import '../oauth/callback.test.ts'
