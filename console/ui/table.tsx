import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/** What a cell holds: a number as it is, null where nothing is known. */
export type Cell = string | number | null

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

const shown = (cell: Cell) => (cell === null ? '–' : typeof cell === 'number' ? number.format(cell) : cell)

/** Rows in the page; a file has all of them. */
const MOST_ROWS = 1000

interface TableProps {
  /** What the rows are, for readers of the screen. */
  name: string
  head: readonly string[]
  rows: readonly (readonly Cell[])[]
}

/** Rows with a heading each; a table that is too wide scrolls by itself. */
export function Table({ name, head, rows }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it with the arrow keys
    <section class="scrolled" aria-label={name} tabIndex={0}>
      <table class="numbers">
        <thead>
          <tr>
            {head.map((text) => (
              <th key={text} scope="col">
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row, index) => (
            <tr key={index}>
              <th scope="row" dir="auto">
                {shown(row[0] ?? null)}
              </th>
              {row.slice(1).map((cell, place) => (
                <td key={head[place + 1]} dir="auto">
                  {shown(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && (
        <p class="quiet">
          These are the first {MOST_ROWS} of {number.format(rows.length)} rows; the file has all.
        </p>
      )}
    </section>
  )
}

interface AsTableProps extends Omit<TableProps, 'rows'> {
  rows(): readonly (readonly Cell[])[]
  /** What is to be read besides. */
  children?: ComponentChildren
}

/** A chart as a table, made when it is opened: for readers of the screen, for copying, and as a file. */
export function AsTable({ name, head, rows, children }: AsTableProps) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {open && (
        <>
          <button type="button" onClick={() => download(`${name}.csv`, csvOf([head, ...rows()]))}>
            Download CSV
          </button>
          <Table name={name} head={head} rows={rows()} />
          {children}
        </>
      )}
    </details>
  )
}

/** Rows as CSV; a cell that a spreadsheet would execute as a formula gets a quote in front, as in the CSV of the API. */
function csvOf(rows: readonly (readonly Cell[])[]): string {
  const field = (cell: Cell) => {
    if (typeof cell === 'number') return String(cell)
    const text = /^[=+\-@\t\r]/.test(cell ?? '') ? `'${cell}` : (cell ?? '')
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return rows.map((row) => `${row.map(field).join(',')}\r\n`).join('')
}

/** Gives the browser a file to keep. */
function download(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href))
}
