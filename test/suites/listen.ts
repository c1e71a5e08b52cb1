import '../webhooks/listen.test.ts'
