import '../console/browser.test.ts'
