import '../intake/uploads/samples.test.ts'
