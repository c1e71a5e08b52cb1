import '../store/sleep/close.test.ts'
import '../store/sleep/nights.test.ts'
import '../store/sleep/order.test.ts'
import '../store/sleep/sleep.test.ts'
