import '../api/demo.test.ts'
import '../demo/import.test.ts'
import '../demo/model.test.ts'
import '../demo/providers.test.ts'
