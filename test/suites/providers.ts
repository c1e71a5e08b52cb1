import '../providers/golden.test.ts'
