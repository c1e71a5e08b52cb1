import '../api/provider-sync.test.ts'
import '../intake/pulls/connect.test.ts'
import '../intake/pulls/truth.test.ts'
