/**
 * Types of segments in which nobody moves; other_39 is a pause whose name the SDK does not know (sdk-types 8.3).
 */
export const idleSegments: ReadonlySet<string> = new Set(['rest', 'pause', 'other_39'])
