import '../webhooks/restart.test.ts'
