import '../console/browser.test.ts'
import '../console/charts.test.ts'
import '../console/days.test.ts'
import '../console/explore.test.ts'
