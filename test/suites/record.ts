import '../webhooks/record.test.ts'
