import '../intake/uploads/import.test.ts'
import '../intake/uploads/replay.test.ts'
