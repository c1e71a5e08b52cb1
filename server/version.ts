/** The version of this service, as its description and its calls tell. */
export const VERSION = '0.9.0'
