import '../api/timeseries-oracle.test.ts'
