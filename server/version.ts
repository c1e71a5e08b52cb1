/** The version of this service, which its description shows and its calls send. */
export const VERSION = '0.9.0'
