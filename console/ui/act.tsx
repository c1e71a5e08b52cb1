import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'

/** Something that a person starts: whether it is under way, and why it failed. */
export function useAct() {
  const [state, setState] = useState<{ busy: boolean; failure?: string }>({ busy: false })
  const act = async (work: () => Promise<unknown>) => {
    if (state.busy) return
    setState({ busy: true })
    try {
      await work()
      setState({ busy: false })
    } catch (error) {
      setState({ busy: false, failure: (error as Error).message })
    }
  }
  return { ...state, act }
}

/** Why something failed. */
export const Problem = ({ text }: { text: string | undefined }) =>
  text ? (
    <span class="problem" role="alert">
      {text}
    </span>
  ) : null

interface DoProps {
  work(): Promise<unknown>
  main?: boolean
  children: ComponentChildren
}

/** A button that does something, and says why it could not. */
export function Do({ work, main, children }: DoProps) {
  const { busy, failure, act } = useAct()
  return (
    <>
      <button type="button" class={main ? 'main' : undefined} aria-disabled={busy} onClick={() => act(work)}>
        {children}
      </button>
      <Problem text={failure} />
    </>
  )
}

/** A field of a form; what is not required may stay empty. */
export type Field = { name: string; label: ComponentChildren } & Partial<
  Record<'type' | 'value' | 'min' | 'max' | 'pattern' | 'title', string>
> & { required?: boolean; maxLength?: number }

interface FieldsProps {
  fields: readonly Field[]
  button: string
  /** Gets what was typed, by name. */
  submit(values: Record<string, string>): Promise<unknown>
  /** Beside the button. */
  children?: ComponentChildren
}

/** A form: its fields, one below the other, and a button. */
export function Fields({ fields, button, submit, children }: FieldsProps) {
  const { busy, failure, act } = useAct()
  const submitted = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]))
    return act(async () => {
      await submit(values)
      form.reset()
    })
  }
  return (
    <form onSubmit={submitted} autoComplete="off">
      {fields.map(({ label, value, ...field }) => (
        <label key={field.name}>
          {label}
          <input {...(field as object)} defaultValue={value ?? ''} />
        </label>
      ))}
      <p class="buttons">
        <button type="submit" class="main" aria-disabled={busy}>
          {button}
        </button>
        {children}
      </p>
      <Problem text={failure} />
    </form>
  )
}

interface OpenerProps {
  button: ComponentChildren
  title: string
  /** Whether what is in the dialog has a button to close it. */
  closes?: boolean
  children(close: () => void): ComponentChildren
}

/** A button that opens a dialog, which can be closed; nothing of it is in the page before and after. */
export function Opener({ button, title, closes, children }: OpenerProps) {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {button}
      </button>
      {open && (
        <Dialog title={title} onClose={close}>
          {children(close)}
          {!closes && (
            <button type="button" onClick={close}>
              Close
            </button>
          )}
        </Dialog>
      )}
    </>
  )
}

interface ConfirmProps {
  /** What it is called, on the button and in the dialog. */
  button: string
  title: string
  /** Has to be typed first. */
  word?: string
  work(): Promise<unknown>
  /** What goes. */
  children: ComponentChildren
}

/** A name as it can be typed: without marks that nobody sees, and its beginning only. */
export const typeable = (name: string): string =>
  name.replace(/\p{C}/gu, '').replace(/\s+/g, ' ').trim().slice(0, 30).trim() || 'delete'

/** A button that says what goes before it does it, and can have a word typed first. */
export function Confirm({ button, title, word, work, children }: ConfirmProps) {
  const typed = word && typeable(word)
  return (
    <Opener button={button} title={title} closes>
      {(close) => (
        <>
          {children}
          <Fields
            button={button}
            fields={
              typed
                ? [
                    {
                      name: 'word',
                      required: true,
                      label: (
                        <span>
                          Type <strong dir="auto">{typed}</strong> to confirm
                        </span>
                      ),
                    },
                  ]
                : []
            }
            submit={async (values) => {
              if (typed && values.word?.replace(/\s+/g, ' ') !== typed) throw new Error('That is something else.')
              await work()
              close()
            }}
          >
            <button type="button" onClick={close}>
              Cancel
            </button>
          </Fields>
        </>
      )}
    </Opener>
  )
}
