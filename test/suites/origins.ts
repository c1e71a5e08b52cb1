import '../store/origins.test.ts'
