import '../intake/uploads/samples.test.ts'
import '../store/workouts.test.ts'
