// A stand-in for the types of Vue 3.
export interface ShallowRef<T = any> { value: T }
