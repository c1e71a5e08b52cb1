import '../api/validation.test.ts'
