/** The ids that people see. They are made where rows are made, so the store owns their form. */
export { makeTextId, publicId, readPublicId } from '../store/ids.ts'
