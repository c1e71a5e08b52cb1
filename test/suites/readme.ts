import '../readme.test.ts'
