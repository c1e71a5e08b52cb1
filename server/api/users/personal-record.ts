import { Type } from 'typebox'
import { Enum, Nullable, Uuid } from '../../http/schema.ts'

/** The whole record, as a client writes it: an absent field becomes null (contract 3.12). */
export const PersonalRecordFields = Type.Object(
  {
    birth_date: Type.Optional(Nullable(Type.String({ format: 'date' }))),
    gender: Type.Optional(Nullable(Enum(['female', 'male', 'nonbinary', 'other', 'prefer_not_to_say']))),
    sex: Type.Optional(Nullable(Enum(['male', 'female']))),
  },
  { title: 'PersonalRecordFields' },
)

/** The personal record of contract 3.12. */
export const PersonalRecord = Type.Object(
  {
    user_id: Uuid(),
    birth_date: Nullable(Type.String({ format: 'date' })),
    gender: Nullable(Type.String()),
    sex: Nullable(Type.String()),
  },
  { title: 'PersonalRecord' },
)

/** A `PersonalRecord` for the API description. */
export const personalRecordExample = {
  user_id: '0b0c2f7e-5d5f-4a0b-9c59-3f1f6c6a8e11',
  birth_date: '1990-12-10',
  gender: 'female',
  sex: 'female',
}
