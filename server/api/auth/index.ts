import type { Route } from '../../http/route.ts'
import { changePassword } from './change-password.ts'
import { login } from './login.ts'
import { logout } from './logout.ts'
import { me } from './me.ts'
import { refreshToken } from './refresh-token.ts'
import { revokeToken } from './revoke-token.ts'
import { updateMe } from './update-me.ts'

/** Login, the developer's own account, and refresh tokens. */
export const authRoutes: readonly Route[] = [login, me, updateMe, logout, changePassword, refreshToken, revokeToken]
